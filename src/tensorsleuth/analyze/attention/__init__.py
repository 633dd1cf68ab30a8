"""Remarks on recorded attention (docs/transformers.md): no TensorFlow, nothing printed."""
