"""The Calibrate page's pieces, and the fitted models that a session keeps."""
