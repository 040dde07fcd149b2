// Package dev runs a provider on this machine while its author works on it: an API
// server and the fake of the API, which stay, and the provider, which is made and
// started again when a file changes. Begin with [Run].
package dev
