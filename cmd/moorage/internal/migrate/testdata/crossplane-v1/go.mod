module example.org/provider-role

go 1.21

require (
	github.com/crossplane/crossplane-runtime v1.16.0
	github.com/google/go-cmp v0.7.0
	k8s.io/api v0.29.1
	k8s.io/apimachinery v0.29.1
	k8s.io/client-go v0.29.1
	sigs.k8s.io/controller-runtime v0.17.0
)
