"""The memory of a recorded program: from a trace to live tensors and their purpose."""
