// Package trim gives memory back that a program needed only to start.
package trim
