// Package systemtest is for what must hold of controllers over NATS with real servers: processes that are killed, and an API server beside them. It holds tests only.
package systemtest
