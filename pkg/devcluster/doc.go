// Package devcluster gives tests and demos a real Kubernetes API server.
//
// It finds, builds and starts the devcluster program: kube-apiserver and etcd
// in one process of its own, bound to 127.0.0.1, with the namespace and the
// garbage-collection controllers, so that deleted namespaces go away and
// owned objects follow their owner. Nothing of Kubernetes' server side is
// linked into the caller.
//
// Where to start:
//
//   - a test that needs an API server calls [Shared]; TestMain calls [Join];
//   - a test that takes the API server down, or a demo that keeps its data in a
//     folder, calls [Start] and owns the [Cluster] it gets;
//   - [Ensure] builds the program ahead. The first build compiles about 2,200
//     packages and takes four to five minutes on two cores; later ones seconds.
//     "make devcluster" does it before go test's ten-minute limit counts.
//
// Three environment variables say otherwise: [EnvKubeconfig] names an existing
// cluster to use, [EnvAssets] a folder with programs to use, and [EnvRun] the
// test run whose packages share a control plane.
package devcluster
