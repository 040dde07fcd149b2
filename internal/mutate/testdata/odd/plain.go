package odd

// Plain decides nothing.
func Plain() string {
	switch {
	default:
		return "always"
	}
}
