package plan_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/pkg/plan"
)

// A provider has a command "plan", which calls Run with the rest of the command line.
func ExampleRun() {
	code := plan.Run(context.Background(), []string{"--kind", "Bucket"}, os.Stdout, os.Stdout, plan.Provider{
		Name: "provider-example", Version: "v1.2.3",
		Config: func(string) (*rest.Config, error) { // usually that of the command "run"
			return nil, errors.New("no configuration has been provided")
		},
		Manager: func([]string) manager.Options { return manager.Options{} },
		Setup:   func(context.Context, manager.Manager) error { return nil }, // calls managed.Setup for each kind
	})
	fmt.Println("exit code", code)
	// Output:
	// provider-example plan: cannot find a cluster: name a kubeconfig by --kubeconfig: no configuration has been provided
	// exit code 1
}
