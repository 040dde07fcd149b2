module example.org/provider-bucket

go 1.24.0

toolchain go1.24.2

require (
	github.com/krateoplatformops/provider-runtime v0.9.1
	k8s.io/api v0.33.0
	k8s.io/apimachinery v0.33.0
	k8s.io/client-go v0.33.0
	sigs.k8s.io/controller-runtime v0.21.0
)
