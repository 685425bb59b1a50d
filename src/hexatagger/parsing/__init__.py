"""Model and Sentences → parsed Sentences."""
