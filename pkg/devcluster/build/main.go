// Build builds devcluster in advance. It prints its progress and then the path of the binary. "make devcluster" runs
// it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/moorage-dev/moorage/pkg/devcluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	binary, err := devcluster.Ensure(ctx, devcluster.Options{Progress: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(binary)
}
