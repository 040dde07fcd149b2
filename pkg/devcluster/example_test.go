package devcluster_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/moorage-dev/moorage/pkg/devcluster"
)

// A package whose tests share a control plane joins it in TestMain, so that
// what it installs there is there for every test.
func ExampleJoin() {
	testMain := func(m *testing.M) int {
		cluster, err := devcluster.Join(context.Background(), devcluster.Options{Progress: os.Stderr})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = cluster.Stop() }()
		// Install the package's CRDs here, with cluster.RESTConfig().
		return m.Run()
	}
	_ = testMain
}

// An existing cluster takes the place of one that would be started.
func ExampleStart() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	kubeconfig := []byte(`{"current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"admin"}}],
		"clusters":[{"name":"c","cluster":{"server":"https://cluster.example:6443"}}],"users":[{"name":"admin"}]}`)
	if err := os.WriteFile(dir+"/kubeconfig", kubeconfig, 0o600); err != nil {
		fmt.Println(err)
		return
	}
	defer os.Unsetenv(devcluster.EnvKubeconfig)
	if err := os.Setenv(devcluster.EnvKubeconfig, dir+"/kubeconfig"); err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	cluster, err := devcluster.Start(ctx, devcluster.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = cluster.Stop() }()
	config, err := cluster.UserConfig(ctx, "provider")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(config.Host, config.Impersonate.UserName)
	// Output: https://cluster.example:6443 provider
}
