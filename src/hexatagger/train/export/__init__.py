"""Export the trained network as ONNX, in 32 and in 8 bits."""
