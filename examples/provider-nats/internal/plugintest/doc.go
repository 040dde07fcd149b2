// Package plugintest tests kubectl moorage with this provider, on a real API server and a real NATS server. It has
// tests only; they run the blocks of docs/kubectl.md and docs/operate.md.
package plugintest
