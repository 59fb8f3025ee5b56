"""The front end: the captured Python text of a kernel becomes Tensor IR by partial evaluation."""
