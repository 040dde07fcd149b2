module example.org/provider-bucket

go 1.22.0

require (
	github.com/krateoplatformops/provider-runtime v0.7.0
	k8s.io/api v0.30.0
	k8s.io/apimachinery v0.30.0
	k8s.io/client-go v0.30.0
	sigs.k8s.io/controller-runtime v0.18.4
)
