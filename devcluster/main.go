// Devcluster is a Kubernetes API server for tests and demos: kube-apiserver
// and etcd in one program. "devcluster serve" runs both in one process, on
// 127.0.0.1 only. Called by the name etcd or kube-apiserver it is that program,
// so that a folder with links of these names serves controller-runtime's
// envtest. Start reading at internal/command.
package main

import (
	"os"
	"path/filepath"
	"runtime/debug"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"

	"github.com/moorage-dev/moorage/devcluster/internal/command"
)

// gcPercent is how much the heap may grow between two collections. A server of tests starts often, lives for minutes,
// and serves little: collections are a fifth of what its start costs. It takes 100 MB more for it. GOGC sets it to
// something else.
const gcPercent = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	switch filepath.Base(os.Args[0]) {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		os.Exit(cli.Run(app.NewAPIServerCommand()))
	default:
		os.Exit(command.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
}
