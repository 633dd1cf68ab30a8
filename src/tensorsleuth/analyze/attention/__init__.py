"""What is remarkable in what was seen inside of a model (docs/transformers.md): no TensorFlow, nothing printed."""
