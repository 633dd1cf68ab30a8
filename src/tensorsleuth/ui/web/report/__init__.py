"""`sleuth report`: a run on one sheet of HTML, without a script."""
