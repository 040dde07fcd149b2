// Package controller reconciles Streams, KeyValues, ObjectStores and Consumers with NATS. Start with
// [Setup], which wires the controllers of all kinds; [Client] talks to NATS for one object.
//
// There is one client, and a [Kind] describes how the kinds differ: all but Consumers are streams in NATS.
// Every resource in NATS carries the stamp of the object that owns it in its metadata: the kind is a part
// of the stamp, so a Stream named KV_x and a KeyValue named x never take over each other's data.
//
// +kubebuilder:rbac:groups=nats.moorage.dev,resources=streams;keyvalues;objectstores;consumers,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=nats.moorage.dev,resources=streams/status;keyvalues/status;objectstores/status;consumers/status,verbs=patch
// +kubebuilder:rbac:groups=nats.moorage.dev,resources=providerconfigs;clusterproviderconfigs,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=nats.moorage.dev,resources=providerconfigs/status;clusterproviderconfigs/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;create;patch
// +kubebuilder:rbac:groups="",resources=namespaces,resourceNames=kube-system,verbs=get
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=streams.nats.moorage.dev;keyvalues.nats.moorage.dev;objectstores.nats.moorage.dev;consumers.nats.moorage.dev,verbs=get
// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch
package controller
