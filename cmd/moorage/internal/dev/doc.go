// Package dev runs a provider on this machine while its author works on it: an API server, which stays, and the
// provider and the fake of its API, which are rebuilt and restarted when a source changes. Begin with [Run].
package dev
