"""The two intermediate levels: Tensor IR and Tile IR, their types, symbols, printers, verifiers."""
