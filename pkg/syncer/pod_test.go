package syncer

import (
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// TestInClusterHost: in a pod, a program names the virtual cluster alone.
func TestInClusterHost(t *testing.T) {
	virtual, host, named := &rest.Config{Host: "virtual"}, &rest.Config{Host: "host"}, &rest.Config{Host: "named"}
	here := pod{func() (*rest.Config, error) { return host, nil }, func() (string, error) { return "quay", nil }}
	nowhere := pod{func() (*rest.Config, error) { return nil, rest.ErrNotInCluster }, func() (string, error) { return "", errors.New("no file") }}
	nameless := pod{here.config, nowhere.namespace}
	cases := map[string]struct {
		reason          string
		o               RegisterOptions
		in              pod
		host            *rest.Config
		target, current string
		want            string // of the error
	}{
		"Pod":         {"Host and namespaces are those of the pod.", RegisterOptions{Virtual: virtual, Name: "red"}, here, host, "quay", "quay", ""},
		"Target":      {"The objects are elsewhere.", RegisterOptions{Virtual: virtual, Name: "red", TargetNamespace: "sea"}, here, host, "sea", "quay", ""},
		"Both":        {"Both are named.", RegisterOptions{Virtual: virtual, Name: "red", TargetNamespace: "sea", CurrentNamespace: "home"}, nameless, host, "sea", "home", ""},
		"Current":     {"What is the process's own is elsewhere.", RegisterOptions{Virtual: virtual, Name: "red", CurrentNamespace: "home"}, here, host, "quay", "home", ""},
		"Named":       {"A host that is named is the host.", RegisterOptions{Virtual: virtual, Physical: named, Name: "red", TargetNamespace: "sea"}, here, named, "sea", "", ""},
		"Half":        {"The namespace of the pod is none of another host.", RegisterOptions{Virtual: virtual, Physical: named, Name: "red"}, here, nil, "", "", "required together"},
		"Nowhere":     {"This is no pod.", RegisterOptions{Virtual: virtual, Name: "red"}, nowhere, nil, "", "", "the host is the cluster of the pod"},
		"NoVirtual":   {"What is required is asked for before anything of the pod.", RegisterOptions{Name: "red"}, nowhere, nil, "", "", "Virtual and Name are required"},
		"NoName":      {"The same.", RegisterOptions{Virtual: virtual}, nowhere, nil, "", "", "Virtual and Name are required"},
		"Nameless":    {"A pod without a service account.", RegisterOptions{Virtual: virtual, Name: "red"}, nameless, nil, "", "", "namespace of the pod"},
		"HalfTarget":  {"Its own namespace is not known either.", RegisterOptions{Virtual: virtual, Name: "red", TargetNamespace: "sea"}, nameless, nil, "", "", "cannot tell the namespace of the pod"},
		"HalfCurrent": {"The objects are nowhere.", RegisterOptions{Virtual: virtual, Name: "red", CurrentNamespace: "home"}, nameless, nil, "", "", "cannot tell the namespace of the pod"},
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
