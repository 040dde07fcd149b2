module example.org/provider-role

go 1.24.9

require (
	github.com/crossplane/crossplane-runtime/v2 v2.0.0
	github.com/google/go-cmp v0.7.0
	k8s.io/api v0.33.0
	k8s.io/apimachinery v0.33.0
	k8s.io/client-go v0.33.0
	sigs.k8s.io/controller-runtime v0.21.0
)
