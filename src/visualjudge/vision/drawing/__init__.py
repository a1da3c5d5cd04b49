"""Drawing and writing for the encodings of all types."""
