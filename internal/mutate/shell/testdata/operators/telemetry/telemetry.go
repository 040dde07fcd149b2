// Package telemetry counts.
package telemetry

// Counted counts.
func Counted() {}
