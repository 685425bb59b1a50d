"""Train the segmenter."""
