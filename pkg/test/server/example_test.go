package server_test

import (
	"context"
	"fmt"
	"os"

	"github.com/moorage-dev/moorage/pkg/test/server"
)

// Run starts a server, and stops it when the context ends.
func ExampleRun() {
	redis := server.Program{
		Name:    "no-such-redis-server",
		Install: "on Debian and Ubuntu: apt-get install -y redis-server",
		Args: func(at server.Place) []string {
			return []string{"--bind", at.Host, "--port", at.Port, "--dir", at.Dir, "--requirepass", os.Getenv("API_TOKEN")}
		},
	}

	err := server.Run(context.Background(), redis, "127.0.0.1:6379", func() { fmt.Println("the server answers") })
	fmt.Println(err)
	// Output:
	// there is no program "no-such-redis-server" to start a server: on Debian and Ubuntu: apt-get install -y redis-server
}
