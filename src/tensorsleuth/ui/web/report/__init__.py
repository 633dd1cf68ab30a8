"""`sleuth report`: a run on one HTML sheet, without a script."""
