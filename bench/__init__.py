"""What recording costs: bare, ours and the peers, interleaved. `python -m bench` (or `make bench`)."""
