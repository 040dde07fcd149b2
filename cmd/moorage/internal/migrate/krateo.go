package migrate

import "strings"

// Packages of Moorage, as the tables name them.
const (
	commonPkg    = "apis/common/v1"
	managedPkg   = "pkg/reconciler/managed"
	metaPkg      = "pkg/meta"
	ptrPkg       = "k8s.io/utils/ptr"
	leftoverPkg  = "./internal/managedspec"
	rateLimitPkg = "pkg/ratelimiter"
)

// krateo09 returns the rules for provider-runtime from v0.8 on.
func krateo09() rules {
	return rules{
		module: krateo,
		packages: map[string]string{
			"pkg/ptr":       ptrPkg,
			"pkg/workqueue": "",
			"pkg/telemetry": "",
			"pkg/context":   "",
			"pkg/fieldpath": "",
			"pkg/helpers":   "",
			"pkg/managed":   managedPkg,
		},
		same: func(pkg string) bool { return strings.HasPrefix(pkg, "pkg/") || strings.HasPrefix(pkg, "apis/") },
		names: map[string]map[string]target{
			"pkg/workqueue": {
				"NewExponentialTimedFailureRateLimiter": {pkg: rateLimitPkg, name: "NewGlobalExponential",
					note: "workqueue.NewExponentialTimedFailureRateLimiter is ratelimiter.NewGlobalExponential here: give it the " +
						"arguments that it takes"},
			},
			"pkg/reconciler": {
				"Initializer":           {pkg: managedPkg},
				"WithInitializers":      {pkg: managedPkg},
				"WithThrottledRecorder": {pkg: managedPkg},
				"WithMetrics": {drop: true,
					note: "reconciler.WithMetrics is gone: metrics are always there, managed.WithMetricsRegisterer and " +
						"managed.WithMetricsPrefix say where and how"},
				"MetricsRecorder": {
					note: "reconciler.MetricsRecorder has no counterpart: metrics are always there, remove what passes it on"},
			},
			"pkg/telemetry": {
				"Setup": {
					note: "telemetry.Setup is gone: the program sets up OpenTelemetry, and gives managed.WithTracerProvider"},
				"Config": {
					note: "telemetry.Config is gone: the program sets up OpenTelemetry, and gives managed.WithTracerProvider"},
			},
		},
		fields: map[string]string{
			"QueueWaitRecorder": "Options.QueueWaitRecorder is gone: the queue of controller-runtime has metrics",
			"UsePriorityQueue":  "Options.UsePriorityQueue is gone: the queue has priorities",
		},
	}
}

// krateo07 returns the rules for provider-runtime up to v0.7.
func krateo07() rules {
	r := krateo09()

	r.names["pkg/ratelimiter"] = map[string]target{"NewReconciler": {name: "New"}}
	r.names["pkg/helpers"] = map[string]target{
		"FixKubernetesServicePort": {note: "helpers.FixKubernetesServicePort has no counterpart: keep it in the provider"},
	}
	r.names["apis/common/v1"] = map[string]target{
		"ManagedSpec": {pkg: leftoverPkg,
			note: "spec.deletionPolicy: moorage migrate objects says it by the annotation krateo.io/deletion-policy where it " +
				"is Orphan; " +
				"do so before the provider runs, and remove the field when no object needs it"},
		"ManagedStatus":  {pkg: leftoverPkg},
		"DeletionPolicy": {pkg: leftoverPkg},
		"DeletionOrphan": {pkg: leftoverPkg},
		"DeletionDelete": {pkg: leftoverPkg},
	}
	r.names["pkg/resource"] = map[string]target{"Orphanable": {pkg: leftoverPkg}}
	r.calls = map[string]map[string]callTo{"pkg/helpers": helpers()}

	return r
}

// helpers returns how the functions of pkg/helpers are written with k8s.io/utils/ptr. Those
// that return a pointer still do: IntOrDefault, unlike StringOrDefault, is one of them.
func helpers() map[string]callTo {
	deref := func(zero string) callTo { return callTo{ptrPkg, "$p.Deref($1, " + zero + ")"} }
	either := callTo{ptrPkg, "$p.Deref($1, $2)"}
	pointer := func(to string) callTo { return callTo{ptrPkg, "$p.To" + to + "($1)"} }

	return map[string]callTo{
		"String": deref(`""`), "StringValue": deref(`""`), "Int": deref("0"), "Int32": deref("0"), "Int64": deref("0"),
		"Int32Value": deref("0"), "Int64Value": deref("0"), "Bool": deref("false"), "BoolValue": deref("false"),
		"StringOrDefault": either, "BoolOrDefault": either, "IntPtrValue": either,
		"IntOrDefault":   {ptrPkg, "$p.To($p.Deref($1, $2))"},
		"Int32OrDefault": {ptrPkg, "$p.To($p.Deref($1, $2))"},
		"Int64OrDefault": {ptrPkg, "$p.To($p.Deref($1, $2))"},
		"StringPtr":      pointer(""), "IntPtr": pointer(""), "BoolPtr": pointer(""),
		"Int32Ptr": pointer("[int32]"), "Int64Ptr": pointer("[int64]"),
		"IsBoolPtrEqualToBool": {ptrPkg, "($1 != nil && *$1 == $2)"},
		"IsIntEqualToIntPtr":   {ptrPkg, "($1 != nil && *$1 == $2)"},
	}
}
