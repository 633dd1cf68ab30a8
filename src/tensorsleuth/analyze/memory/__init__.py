"""Where the memory of a recorded program went: from a trace to tensors that were alive, and what they were for."""
