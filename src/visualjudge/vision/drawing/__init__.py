"""Drawing and text output shared by the encodings of all types."""
