package dev

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/network"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "kubectl" {
		if err := kubectl(context.Background(), os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}

		os.Exit(0)
	}

	os.Exit(network.Main(m.Run))
}

// kubectl replaces the program of that name, which not every machine has: it applies the files of a folder, and
// nothing else.
func kubectl(ctx context.Context, args []string) error {
	if len(args) != 3 || args[0] != "apply" || args[1] != "-f" {
		return fmt.Errorf("this kubectl knows apply -f FOLDER alone, and not %q", args)
	}

	c, err := open(os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}

	objects, err := read(filepath.Join(args[2], "*.yaml"))
	if err != nil {
		return err
	}

	if len(objects) == 0 {
		return fmt.Errorf("there is nothing to apply in %s", args[2])
	}

	return c.apply(ctx, objects)
}
