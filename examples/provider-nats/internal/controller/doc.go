// Package controller reconciles Streams and KeyValues with NATS. Start with
// [Setup], which wires the controllers of both kinds; [Client] is what talks to
// NATS for one object.
//
// Both kinds are streams in NATS, so there is one client, and a kind is the
// data that tells them apart. Every stream carries the stamp of the object that
// owns it in its metadata: the kind is a part of the stamp, so a Stream named
// KV_x and a KeyValue named x never take each other's data.
//
// +kubebuilder:rbac:groups=nats.moorage.dev,resources=streams;keyvalues,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=nats.moorage.dev,resources=streams/status;keyvalues/status,verbs=patch
// +kubebuilder:rbac:groups=nats.moorage.dev,resources=providerconfigs,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups="",resources=namespaces,resourceNames=kube-system,verbs=get
// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,resourceNames=provider-nats.nats.moorage.dev,verbs=get;update
package controller
