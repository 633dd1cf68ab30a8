"""`sleuth view`: a web page for a trace."""
