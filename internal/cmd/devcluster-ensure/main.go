// Command devcluster-ensure builds the devcluster program of this checkout if it is not built yet, shows progress meanwhile, and prints where it is.
//
// Make runs it before anything that needs an API server: go test, which kills a package after ten minutes, then finds it built.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/moorage-dev/moorage/pkg/devcluster"
)

func main() {
	// Without this, an interrupt would end the command and leave its compiler running.
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	binary, err := devcluster.Ensure(ctx, devcluster.Options{Progress: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, "devcluster-ensure:", err)
		os.Exit(1)
	}
	fmt.Println(binary)
}
