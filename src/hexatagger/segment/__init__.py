"""Raw text → Sentences: the segmenter that tags characters, and multiword tokens."""
