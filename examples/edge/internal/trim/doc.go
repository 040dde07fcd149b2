// Package trim returns memory to the system that a program needed only to start.
package trim
