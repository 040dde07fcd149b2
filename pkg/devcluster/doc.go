// Package devcluster provides a real Kubernetes API server for tests and demos.
//
// It finds, builds and starts the program devcluster, which runs kube-apiserver and etcd in one process on 127.0.0.1.
// The program also runs the namespace controller and the garbage collector, so deleted namespaces and owned objects are
// removed. No server code of Kubernetes is linked into the program that uses this package.
//
// Start with one of these functions:
//
//   - A test that needs an API server calls [Shared]. TestMain calls [Join].
//   - A test that takes the API server down calls [Start], which returns a [Cluster] that the caller owns. A demo that
//     stores its data in a folder does the same.
//   - [Ensure] builds the program in advance. The first build compiles about 2,200 packages and takes four to five
//     minutes on two cores. Later builds take seconds. "make devcluster" calls Ensure, so that the build does not count
//     toward the ten-minute limit of go test.
//
// Three environment variables change this. [EnvKubeconfig] names an existing cluster to use. [EnvAssets] names a folder
// that contains the programs to use. [EnvRun] names the test run whose packages share a control plane.
package devcluster
