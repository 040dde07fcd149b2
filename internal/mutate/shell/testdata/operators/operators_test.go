package operators
