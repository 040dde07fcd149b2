package migrate

import "maps"

const (
	xpPkg       = "pkg/xp"
	resourcePkg = "pkg/resource"
	referPkg    = "pkg/reference"
	configPkg   = "pkg/providerconfig"
)

// crossplane2 returns the rules for crossplane-runtime v2.
func crossplane2() rules {
	r := crossplaneBoth()
	r.module = crossplaneV2

	maps.Copy(r.names["pkg/resource"], inXP("ProviderConfigUsageTracker", "NewProviderConfigUsageTracker"))

	return r
}

// crossplane1 returns the rules for crossplane-runtime v1, whose tracker takes every kind.
func crossplane1() rules {
	r := crossplaneBoth()
	r.module = crossplane

	r.names["pkg/resource"]["ProviderConfigUsageTracker"] = target{pkg: xpPkg, name: "UsageTracker"}
	r.names["pkg/resource"]["NewProviderConfigUsageTracker"] = target{pkg: xpPkg, name: "NewUsageTracker"}

	return r
}

// crossplaneBoth returns what is the same for both.
func crossplaneBoth() rules {
	return rules{
		packages: map[string]string{
			"apis/common": commonPkg, "apis/common/v1": commonPkg, "apis/common/v2": commonPkg,
			"pkg/reconciler/managed": managedPkg, "pkg/reconciler/providerconfig": configPkg,
			"pkg/resource": resourcePkg, "pkg/resource/fake": "pkg/resource/fake", "pkg/meta": metaPkg,
			"pkg/event": "pkg/event", "pkg/logging": "pkg/logging", "pkg/errors": "pkg/errors", "pkg/ratelimiter": rateLimitPkg,
			"pkg/controller": "pkg/controller", "pkg/reference": referPkg, "pkg/test": "pkg/test",
		},
		same: func(string) bool { return false },
		also: map[string]string{"github.com/crossplane/crossplane/apis/v2/core/v2": "apis/common/v2"},
		names: map[string]map[string]target{
			"apis/common":    crossplaneTypes(),
			"apis/common/v1": crossplaneTypes(),
			"apis/common/v2": crossplaneTypes(),

			"pkg/reconciler/managed":        crossplaneManaged(),
			"pkg/resource":                  crossplaneResource(),
			"pkg/reconciler/providerconfig": {"ControllerName": {pkg: managedPkg}},
			"pkg/reconciler/customresourcesgate": {
				"Setup": {drop: true,
					note: "customresourcesgate.Setup is gone: give crdgate.New to managed.SetupGated where a controller waits for " +
						"its CRD"}},
			"pkg/ratelimiter": {"NewReconciler": {name: "New"}},
			"pkg/feature": {"Flags": {drop: true},
				"Flag": {note: "feature.Flag is gone: remove the flag, and say by an option what it turned on"}},
			"pkg/statemetrics": {"NewMRStateRecorder": {drop: true, note: stateMetrics},
				"NewMRStateMetrics": {drop: true, note: stateMetrics}},
			"pkg/controller": {"MetricOptions": {drop: true}, "ChangeLogOptions": {drop: true},
				"ESSOptions": {drop: true}},
			"pkg/gate":          {"Gate": {drop: true, note: "gate.Gate is gone: crdgate.New"}},
			"pkg/reference":     crossplaneReference(),
			"pkg/resource/fake": {"ModernManaged": {name: "Managed"}, "LegacyManaged": {name: "Managed"}},
			"pkg/connection": {
				"NewDetailsManager": {drop: true,
					note: "connection.NewDetailsManager is gone: external secret stores have no counterpart"}},
			"pkg/password": {
				"Generate": {note: "password.Generate has no counterpart: crypto/rand.Text generates a password"}},
			"pkg/fieldpath": {
				"Pave": {
					note: "fieldpath.Pave has no counterpart: reference.Field reads a field of a referent, " +
						"unstructured.NestedFieldNoCopy any other"}},
			"apis/changelogs/proto/v1alpha1": {"NewChangeLogServiceClient": {drop: true, note: changeLog}},
		},
		within: crossplaneWithin(),
		calls:  map[string]map[string]callTo{"pkg/errors": {"WithSilentRequeueOnConflict": {form: "$1"}}},
		fields: crossplaneFields(),
		reported: map[string]string{
			"Gate": "Options.Gate is gone: call Setup, or managed.SetupGated with crdgate.New where the controller waits for " +
				"its CRD",
		},
		steps: []step{configs, predicates, clients, secretSelectors, resolvers},
	}
}

const (
	stateMetrics = "state metrics are always there: moorage_managed_resource_ready and its kin, which list nothing"
	changeLog    = "managed.WithChangeLog takes a sink: changelog.NewJSON, changelog.OpenFile, changelog.NewEvents, or " +
		"one of yours"
)

// crossplaneFields returns the fields whose uses are removed, with their notes.
func crossplaneFields() map[string]string {
	return map[string]string{
		"Features": "a feature flag is gone with what it turned on: management policies are always on, and the " +
			"rest is said by options of the reconciler",
		"MetricOptions":    "",
		"ChangeLogOptions": "",
		"ESSOptions":       "",
	}
}

// crossplaneWithin returns the names that depend on what uses them.
func crossplaneWithin() map[string]map[string]map[string]target {
	return map[string]map[string]map[string]target{
		"apis/common/v1": {
			"Reference": {
				"GetProviderConfigReference": {pkg: commonPkg, name: "ProviderConfigReference"},
				"SetProviderConfigReference": {pkg: commonPkg, name: "ProviderConfigReference"},
				"ProviderConfigReference":    {pkg: commonPkg, name: "ProviderConfigReference"},
			},
			"DeletionPolicy": {"SetDeletionPolicy": {pkg: xpPkg}}, // reported at the other method
		},
	}
}

// inXP returns targets of the same names in pkg/xp.
func inXP(names ...string) map[string]target {
	out := map[string]target{}
	for _, name := range names {
		out[name] = target{pkg: xpPkg}
	}

	return out
}

// crossplaneTypes returns what becomes of apis/common.
func crossplaneTypes() map[string]target {
	out := inXP(
		"ResourceSpec", "ManagedResourceSpec", "ResourceStatus", "SecretReference", "DeletionPolicy", "DeletionOrphan",
		"DeletionDelete",
		"TypedReference", "ProviderConfigUsage", "TypedProviderConfigUsage",
		"ResourceCredentialsSecretEndpointKey", "ResourceCredentialsSecretPortKey", "ResourceCredentialsSecretUserKey",
		"ResourceCredentialsSecretPasswordKey", "ResourceCredentialsSecretCAKey", "ResourceCredentialsSecretClientCertKey",
		"ResourceCredentialsSecretClientKeyKey", "ResourceCredentialsSecretTokenKey",
		"ResourceCredentialsSecretKubeconfigKey")

	out["ManagedResourceStatus"] = target{pkg: xpPkg, name: "ResourceStatus"}
	out["Reference"] = target{name: "NamespacedReference"}
	out["Selector"] = target{name: "NamespacedSelector"}
	out["Policy"] = target{name: "ReferencePolicy"}
	out["PublishConnectionDetailsTo"] = target{
		note: "publishConnectionDetailsTo has no counterpart: remove the field and its methods"}
	out["DeletionPolicy"] = target{pkg: xpPkg,
		note: "spec.deletionPolicy: moorage migrate objects says Orphan by the annotation krateo.io/deletion-policy; do so " +
			"before the provider runs"}

	return out
}

// crossplaneManaged returns what becomes of pkg/reconciler/managed.
func crossplaneManaged() map[string]target {
	out := inXP(
		"ExternalClient", "TypedExternalClient", "ExternalCreation", "ExternalUpdate", "ExternalDelete", "AdditionalDetails",
		"ExternalConnecter", "ExternalConnector", "TypedExternalConnecter", "TypedExternalConnector",
		"ExternalConnectorFn", "TypedExternalConnectorFn", "ExternalClientFns", "TypedExternalClientFns", "NopClient",
		"WithExternalConnecter", "WithExternalConnector", "WithTypedExternalConnector", "NewReconciler",
		"NewNameAsExternalName")

	out["NameAsExternalName"] = target{}
	out["WithManagementPolicies"] = target{drop: true}
	out["WithMetricRecorder"] = target{drop: true}
	out["WithChangeLogger"] = target{drop: true, note: changeLog}
	out["NewGRPCChangeLogger"] = target{drop: true, note: changeLog}
	out["NewMRMetricRecorder"] = target{drop: true}
	out["WithConnectionPublishers"] = target{drop: true,
		note: "connection details are published to the Secret of the object; managed.WithConnectionPublisher takes a " +
			"publisher of yours"}
	out["NewAPISecretPublisher"] = target{drop: true}
	out["WithReconcilerSupportedManagementPolicies"] = target{name: "WithSupportedManagementPolicies"}

	return out
}

// crossplaneResource returns what becomes of pkg/resource.
func crossplaneResource() map[string]target {
	out := inXP(
		"ModernManaged", "LegacyManaged", "Manageable", "Orphanable", "ProviderConfig", "Tracker", "ModernTracker",
		"LegacyTracker",
		"LegacyProviderConfigUsageTracker", "NewLegacyProviderConfigUsageTracker")

	out["CommonCredentialExtractor"] = target{pkg: xpPkg,
		note: "credentials come from Secrets alone until the operator allows more (credentials.New); " +
			"give GetAPIReader of the manager, or every Secret of the cluster is cached"}
	out["ProviderConfigUsage"] = target{pkg: xpPkg, name: "ProviderConfigUsageObject"}
	out["LegacyProviderConfigUsage"] = target{pkg: xpPkg, name: "ProviderConfigUsageObject"}
	out["TypedProviderConfigUsage"] = target{pkg: xpPkg, name: "ProviderConfigUsageObject"}
	out["ConnectionSecretWriterTo"] = target{pkg: xpPkg, name: "SecretWriterTo"}
	out["LocalConnectionSecretWriterTo"] = target{name: "ConnectionSecretWriterTo"}
	out["ProviderConfigReferencer"] = target{pkg: xpPkg}
	out["TypedProviderConfigReferencer"] = target{pkg: xpPkg, name: "ProviderConfigReferencer"}
	out["EnqueueRequestForProviderConfig"] = target{
		note: "resource.EnqueueRequestForProviderConfig: providerconfig.EnqueueUsers in a controller of users, and nothing " +
			"in that of the configuration"}
	out["NewAPIPatchingApplicator"] = target{
		note: "resource.NewAPIPatchingApplicator has no counterpart: the client's Apply"}
	out["NewAPIUpdatingApplicator"] = target{
		note: "resource.NewAPIUpdatingApplicator has no counterpart: the client's Apply"}

	return out
}

// crossplaneReference returns what becomes of pkg/reference.
func crossplaneReference() map[string]target {
	return map[string]target{
		"NewAPINamespacedResolver":          {name: "NewAPIResolver"},
		"APINamespacedResolver":             {name: "APIResolver"},
		"NamespacedResolutionRequest":       {name: "ResolutionRequest"},
		"NamespacedResolutionResponse":      {name: "ResolutionResponse"},
		"MultiNamespacedResolutionRequest":  {name: "MultiResolutionRequest"},
		"MultiNamespacedResolutionResponse": {name: "MultiResolutionResponse"},
	}
}
