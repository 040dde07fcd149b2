// Package server runs a real server for tests and for local runs: a program of the PATH, in a folder of its own, on a
// loopback address. Start with Program:
//
//	redis := server.Program{
//		Name:    "redis-server",
//		Install: "on Debian and Ubuntu: apt-get install -y redis-server",
//		Args:    func(at server.Place) []string { return []string{"--bind", at.Host, "--port", at.Port} },
//	}
//	address := shared.Start(t, redis) // shared is a *server.Shared, for all tests of the process
package server
