"""Training the segmenter."""
