"""People's keypoints."""
