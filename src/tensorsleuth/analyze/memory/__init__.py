"""The memory of a recorded program: from a trace to living tensors, and their purpose."""
