"""The page: a web page over a trace."""
