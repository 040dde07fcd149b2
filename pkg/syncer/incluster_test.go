package syncer

import (
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// TestRegisterOptionsInPod verifies the defaults in a pod, where only the virtual cluster
// and its name are required.
func TestRegisterOptionsInPod(t *testing.T) {
	virtual, host, named := &rest.Config{Host: "virtual"}, &rest.Config{Host: "host"}, &rest.Config{Host: "named"}
	here := podEnvironment{
		func() (*rest.Config, error) { return host, nil }, func() (string, error) { return "host-ns", nil },
	}
	nowhere := podEnvironment{
		func() (*rest.Config, error) { return nil, rest.ErrNotInCluster },
		func() (string, error) { return "", errors.New("no file") },
	}
	nameless := podEnvironment{here.config, nowhere.namespace}
	cases := map[string]struct {
		reason          string
		o               RegisterOptions
		in              podEnvironment
		host            *rest.Config
		target, current string
		want            string // of the error
	}{
		"Pod": {
			"The host and the namespaces are those of the pod.", RegisterOptions{Virtual: virtual, Name: "red"}, here, host,
			"host-ns", "host-ns", "",
		},
		"Target": {
			"The target namespace is given.", RegisterOptions{Virtual: virtual, Name: "red", TargetNamespace: "target-ns"}, here,
			host, "target-ns", "host-ns", "",
		},
		"Both": {
			"Both namespaces are given.",
			RegisterOptions{Virtual: virtual, Name: "red", TargetNamespace: "target-ns", CurrentNamespace: "home"}, nameless,
			host, "target-ns", "home", "",
		},
		"Current": {
			"The current namespace is given.", RegisterOptions{Virtual: virtual, Name: "red", CurrentNamespace: "home"}, here,
			host, "host-ns", "home", "",
		},
		"Named": {
			"The host is given.", RegisterOptions{Virtual: virtual, Physical: named, Name: "red", TargetNamespace: "target-ns"},
			here, named, "target-ns", "", "",
		},
		"Half": {
			"The namespace of the pod is no default for another host.",
			RegisterOptions{Virtual: virtual, Physical: named, Name: "red"}, here, nil, "", "", "required together",
		},
		"Nowhere": {
			"The process does not run in a pod.", RegisterOptions{Virtual: virtual, Name: "red"}, nowhere, nil, "", "",
			"the host is the cluster of the pod",
		},
		"NoVirtual": {
			"Required options are checked before the pod is read.", RegisterOptions{Name: "red"}, nowhere, nil, "", "",
			"Virtual and Name are required",
		},
		"NoName": {
			"Required options are checked before the pod is read.", RegisterOptions{Virtual: virtual}, nowhere, nil, "", "",
			"Virtual and Name are required",
		},
		"Nameless": {
			"The pod has no service account.", RegisterOptions{Virtual: virtual, Name: "red"}, nameless, nil, "", "",
			"namespace of the pod",
		},
		"HalfTarget": {
			"The current namespace is unknown.", RegisterOptions{Virtual: virtual, Name: "red", TargetNamespace: "target-ns"},
			nameless, nil, "", "", "cannot read the namespace of the pod",
		},
		"HalfCurrent": {
			"The target namespace is unknown.", RegisterOptions{Virtual: virtual, Name: "red", CurrentNamespace: "home"},
			nameless, nil, "", "", "cannot read the namespace of the pod",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o, err := tc.o.complete(tc.in)
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%s\ngot error %v, want %q", tc.reason, err, tc.want)
				}
				return
			}
			if err != nil || o.Physical != tc.host || o.TargetNamespace != tc.target || o.CurrentNamespace != tc.current {
				t.Errorf("%s\ngot %v, %q, %q: %v", tc.reason, o.Physical, o.TargetNamespace, o.CurrentNamespace, err)
			}
		})
	}
}
