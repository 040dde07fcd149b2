package reference

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
)

var (
	toDisk    = To{Managed: &Disk{}, List: &DiskList{}}
	toNetwork = To{Managed: &Network{}, List: &NetworkList{}}

	always         = &commonv1.ReferencePolicy{Resolve: new(commonv1.ResolvePolicyAlways)}
	optional       = &commonv1.ReferencePolicy{Resolution: new(commonv1.ResolutionPolicyOptional)}
	alwaysOptional = &commonv1.ReferencePolicy{
		Resolve:    new(commonv1.ResolvePolicyAlways),
		Resolution: new(commonv1.ResolutionPolicyOptional),
	}
)

// A ref is a reference to something.
func ref(name string, p *commonv1.ReferencePolicy) *commonv1.NamespacedReference {
	return &commonv1.NamespacedReference{Name: name, Policy: p}
}

func refIn(namespace, name string, p *commonv1.ReferencePolicy) *commonv1.NamespacedReference {
	return &commonv1.NamespacedReference{Namespace: namespace, Name: name, Policy: p}
}

func TestResolveReference(t *testing.T) {
	boom := errors.New("boom")
	page := kerrors.NewGenericServerResponse(http.StatusNotFound, http.MethodGet,
		schema.GroupResource{Resource: "disks"}, "b", "404 page not found", 0, true)
	inA := instance("a", "instance", uid("u"))

	cases := map[string]struct {
		reason  string
		from    client.Object
		objects []client.Object
		readErr error
		req     ResolutionRequest
		want    string
		why     Reason
		err     error
		reads   []string
	}{
		"Nothing": {
			reason: "Without a reference and a selector there is nothing to do.",
			req:    ResolutionRequest{CurrentValue: "x"},
			want:   "x",
		},
		"Present": {
			reason: "A value that is there is not looked for again, whatever became of the referent.",
			req:    ResolutionRequest{CurrentValue: "x", Reference: ref("gone", nil), To: toDisk},
			want:   "x",
		},
		"Absent": {
			reason:  "A value that is missing is taken from the referent.",
			objects: []client.Object{disk("a", "b", external("main"))},
			req:     ResolutionRequest{Reference: ref("b", nil), To: toDisk},
			want:    "main",
			reads:   []string{"get Disk a/b"},
		},
		"Always": {
			reason:  "With Always the value follows the referent.",
			objects: []client.Object{disk("a", "b", external("new"))},
			req:     ResolutionRequest{CurrentValue: "old", Reference: ref("b", always), To: toDisk},
			want:    "new",
			reads:   []string{"get Disk a/b"},
		},
		"Missing": {
			reason: "A referent that does not exist is waited for.",
			req:    ResolutionRequest{Reference: ref("b", nil), To: toDisk},
			why:    ReasonNotFound,
			reads:  []string{"get Disk a/b"},
		},
		"MissingAlways": {
			reason: "The current value is kept beside the error.",
			req:    ResolutionRequest{CurrentValue: "x", Reference: ref("b", always), To: toDisk},
			want:   "x",
			why:    ReasonNotFound,
			reads:  []string{"get Disk a/b"},
		},
		"MissingOptional": {
			reason: "An optional reference goes without.",
			req:    ResolutionRequest{Reference: ref("b", optional), To: toDisk},
			reads:  []string{"get Disk a/b"},
		},
		"MissingAlwaysOptional": {
			reason: "An optional value that follows its referent goes with it.",
			req:    ResolutionRequest{CurrentValue: "x", Reference: ref("b", alwaysOptional), To: toDisk},
			reads:  []string{"get Disk a/b"},
		},
		"NotNamed": {
			reason:  "A referent without an external name is waited for.",
			objects: []client.Object{disk("a", "b")},
			req:     ResolutionRequest{Reference: ref("b", nil), To: toDisk},
			why:     ReasonNoValue,
			reads:   []string{"get Disk a/b"},
		},
		"FieldEmpty": {
			reason:  "So is one without the field, though it has a name.",
			objects: []client.Object{disk("a", "b", external("main"))},
			req:     ResolutionRequest{Reference: ref("b", nil), To: toDisk, Extract: Field("status.atProvider.arn")},
			why:     ReasonNoValue,
			reads:   []string{"get Disk a/b"},
		},
		"Deleting": {
			reason:  "Nothing new begins with a referent that is on its way out.",
			objects: []client.Object{disk("a", "b", external("main"), deleting)},
			req:     ResolutionRequest{Reference: ref("b", nil), To: toDisk},
			why:     ReasonDeleting,
			reads:   []string{"get Disk a/b"},
		},
		"DeletingHeld": {
			reason:  "Who has the value keeps it while the referent is still there.",
			objects: []client.Object{disk("a", "b", external("main"), deleting)},
			req:     ResolutionRequest{CurrentValue: "main", Reference: ref("b", always), To: toDisk},
			want:    "main",
			reads:   []string{"get Disk a/b"},
		},
		"ReadFails": {
			reason:  "A failure to read is neither waiting nor a refusal, and not tolerated.",
			readErr: boom,
			req:     ResolutionRequest{Reference: ref("b", optional), To: toDisk},
			err:     boom,
			reads:   []string{"get Disk a/b"},
		},
		"Proxy": {
			reason:  "The page of a proxy is no answer that the referent does not exist.",
			readErr: page,
			req:     ResolutionRequest{Reference: ref("b", optional), To: toDisk},
			err:     page,
			reads:   []string{"get Disk a/b"},
		},
		"UnknownResolve": {
			reason: "A misspelt policy is not taken for the default, though there is a value.",
			req: ResolutionRequest{
				CurrentValue: "x",
				Reference:    ref("b", &commonv1.ReferencePolicy{Resolve: new(commonv1.ResolvePolicy("always"))}),
				To:           toDisk,
			},
			want: "x",
			why:  ReasonMalformed,
		},
		"UnknownResolution": {
			reason: "Neither is the other one.",
			req: ResolutionRequest{
				Reference: ref("b", &commonv1.ReferencePolicy{Resolution: new(commonv1.ResolutionPolicy("maybe"))}),
				To:        toDisk,
			},
			why: ReasonMalformed,
		},
		"EmptyPolicy": {
			reason:  "Empty values are the defaults.",
			objects: []client.Object{disk("a", "b", external("main"))},
			req: ResolutionRequest{
				Reference: ref("b", &commonv1.ReferencePolicy{
					Resolve:    new(commonv1.ResolvePolicy("")),
					Resolution: new(commonv1.ResolutionPolicy("")),
				}),
				To: toDisk,
			},
			want:  "main",
			reads: []string{"get Disk a/b"},
		},
		"NoName": {
			reason: "A reference without a name is a mistake, optional or not.",
			req:    ResolutionRequest{Reference: ref("", optional), To: toDisk},
			why:    ReasonMalformed,
		},
		"NameIsPath": {
			reason: "A name that would lead elsewhere in the API is not read.",
			req:    ResolutionRequest{Reference: ref("../../b/disks/secret", nil), To: toDisk},
			why:    ReasonMalformed,
		},
		"NamespaceIsPath": {
			reason: "Nor is such a namespace.",
			req:    ResolutionRequest{Reference: refIn("..", "b", nil), To: toDisk},
			why:    ReasonMalformed,
		},
		"OwnNamespaceNamed": {
			reason:  "To name the own namespace needs no grant.",
			objects: []client.Object{disk("a", "b", external("main"))},
			req:     ResolutionRequest{Reference: refIn("a", "b", nil), To: toDisk},
			want:    "main",
			reads:   []string{"get Disk a/b"},
		},
		"NotGranted": {
			reason:  "Another namespace has to grant it.",
			objects: []client.Object{disk("b", "b", external("main"))},
			req:     ResolutionRequest{Reference: refIn("b", "b", nil), To: toDisk},
			why:     ReasonNotGranted,
			reads:   []string{"get Disk b/b"},
		},
		"GrantedToOthers": {
			reason:  "A grant to others, or to a part of the name, is none.",
			objects: []client.Object{disk("b", "b", external("main"), granted("aa, ,b,A,a*"))},
			req:     ResolutionRequest{Reference: refIn("b", "b", nil), To: toDisk},
			why:     ReasonNotGranted,
			reads:   []string{"get Disk b/b"},
		},
		"Granted": {
			reason:  "A grant may be one of several.",
			objects: []client.Object{disk("b", "b", external("main"), granted("z, a"))},
			req:     ResolutionRequest{Reference: refIn("b", "b", nil), To: toDisk},
			want:    "main",
			reads:   []string{"get Disk b/b"},
		},
		"GrantedToAll": {
			reason:  "A star is everybody.",
			objects: []client.Object{disk("b", "b", external("main"), granted("*"))},
			req:     ResolutionRequest{Reference: refIn("b", "b", nil), To: toDisk},
			want:    "main",
			reads:   []string{"get Disk b/b"},
		},
		"MissingElsewhere": {
			reason: "What is missing in another namespace reads like what is not granted there.",
			req:    ResolutionRequest{Reference: refIn("b", "b", nil), To: toDisk},
			why:    ReasonNotGranted,
			reads:  []string{"get Disk b/b"},
		},
		"NotGrantedOptional": {
			reason:  "An optional reference goes without what is not granted.",
			objects: []client.Object{disk("b", "b", external("main"))},
			req:     ResolutionRequest{Reference: refIn("b", "b", optional), To: toDisk},
			reads:   []string{"get Disk b/b"},
		},
		"NotGrantedDeleting": {
			reason:  "Who is not granted it does not learn that it is being deleted.",
			objects: []client.Object{disk("b", "b", deleting)},
			req:     ResolutionRequest{Reference: refIn("b", "b", nil), To: toDisk},
			why:     ReasonNotGranted,
			reads:   []string{"get Disk b/b"},
		},
		"Self": {
			reason: "An object that refers to itself waits forever.",
			from:   disk("a", "b"),
			req:    ResolutionRequest{Reference: ref("b", nil), To: toDisk},
			why:    ReasonSelf,
		},
		"SelfOptional": {
			reason: "That is a mistake even if the reference is optional.",
			from:   disk("a", "b"),
			req:    ResolutionRequest{Reference: ref("b", optional), To: toDisk},
			why:    ReasonSelf,
		},
		"SelfByUID": {
			reason:  "The same object served as another kind is the object itself.",
			objects: []client.Object{disk("a", "b", uid("u"), external("main"))},
			req:     ResolutionRequest{Reference: ref("b", nil), To: toDisk},
			why:     ReasonSelf,
			reads:   []string{"get Disk a/b"},
		},
		"Namesake": {
			reason:  "An object of another kind may have the same name.",
			objects: []client.Object{disk("a", "instance", external("main"))},
			req:     ResolutionRequest{Reference: ref("instance", nil), To: toDisk},
			want:    "main",
			reads:   []string{"get Disk a/instance"},
		},
		"ClusterScoped": {
			reason:  "A cluster-scoped referent has no namespace and needs no grant.",
			objects: []client.Object{network("h", external("net-1"))},
			req:     ResolutionRequest{Reference: refIn("b", "h", nil), To: toNetwork},
			want:    "net-1",
			reads:   []string{"get Network /h"},
		},
		"FromClusterUnnamed": {
			reason: "A cluster-scoped object has to say in which namespace.",
			from:   network("h"),
			req:    ResolutionRequest{Reference: ref("b", nil), To: toDisk},
			why:    ReasonMalformed,
		},
		"FromClusterNotGranted": {
			reason:  "It is in no namespace, so that a grant to one is not about it.",
			from:    network("h"),
			objects: []client.Object{disk("a", "b", external("main"), granted("a,h,"))},
			req:     ResolutionRequest{Reference: refIn("a", "b", nil), To: toDisk},
			why:     ReasonNotGranted,
			reads:   []string{"get Disk a/b"},
		},
		"FromClusterGranted": {
			reason:  "A grant to all is about it too.",
			from:    network("h"),
			objects: []client.Object{disk("a", "b", external("main"), granted("*"))},
			req:     ResolutionRequest{Reference: refIn("a", "b", nil), To: toDisk},
			want:    "main",
			reads:   []string{"get Disk a/b"},
		},
		"ClusterToCluster": {
			reason:  "Two cluster-scoped objects need neither namespace nor grant.",
			from:    network("g"),
			objects: []client.Object{network("h", external("net-1"))},
			req:     ResolutionRequest{Reference: ref("h", nil), To: toNetwork},
			want:    "net-1",
			reads:   []string{"get Network /h"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			from := tc.from
			if from == nil {
				from = inA
			}
			w := newWorld(tc.objects...)
			w.err = tc.readErr

			rsp, err := NewAPIResolver(w, from).Resolve(context.Background(), tc.req)

			checkError(t, tc.reason, err, tc.why, tc.err)
			if diff := cmp.Diff(ResolutionResponse{tc.want, tc.req.Reference}, rsp); diff != "" {
				t.Errorf("%s\nResolve(...): -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.reads, w.reads); diff != "" {
				t.Errorf("%s\nreads: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// checkError compares an error with a reason, another error, or nothing.
func checkError(t *testing.T, reason string, err error, why Reason, want error) {
	t.Helper()
	if got := ReasonOf(err); got != why {
		t.Errorf("%s\nReasonOf(%v): want %q, got %q", reason, err, why, got)
	}
	switch {
	case why == "" && !errors.Is(err, want):
		t.Errorf("%s\nwant error %v, got %v", reason, want, err)
	case err != nil && len(err.Error()) > maxErrorLength:
		t.Errorf("%s\nThe text has %d bytes: %s", reason, len(err.Error()), err)
	}
	waiting := slices.Contains([]Reason{
		ReasonNotFound, ReasonDeleting, ReasonNoValue, ReasonNotReady, ReasonNoMatch,
	}, why)
	if got := IsWaiting(err); got != waiting {
		t.Errorf("%s\nIsWaiting(%v): want %t", reason, err, waiting)
	}
	if got := IsRefused(err); got != (why != "" && !waiting) {
		t.Errorf("%s\nIsRefused(%v): got %t", reason, err, got)
	}
}

func TestResolveSelector(t *testing.T) {
	sheltered := func(p *commonv1.ReferencePolicy) *commonv1.NamespacedSelector {
		return &commonv1.NamespacedSelector{MatchLabels: map[string]string{"zone": "east"}, Policy: p}
	}
	east := labelled("zone", "east")
	two := []client.Object{disk("a", "y", east, external("Y")), disk("a", "x", east, external("X")),
		disk("a", "w", external("W"))}

	cases := map[string]struct {
		reason  string
		from    client.Object
		objects []client.Object
		req     ResolutionRequest
		want    ResolutionResponse
		why     Reason
		reads   []string
	}{
		"Present": {
			reason: "A value that is there is not looked for again.",
			req:    ResolutionRequest{CurrentValue: "v", Selector: sheltered(nil), To: toDisk},
			want:   ResolutionResponse{ResolvedValue: "v"},
		},
		"First": {
			reason:  "The first by name is chosen, in whatever order they are listed.",
			objects: two,
			req:     ResolutionRequest{Selector: sheltered(nil), To: toDisk},
			want:    ResolutionResponse{"X", ref("x", nil)},
			reads:   []string{"list Disk a"},
		},
		"Stays": {
			reason:  "What was chosen stays while it matches, and keeps its policy.",
			objects: two,
			req:     ResolutionRequest{Reference: ref("y", optional), Selector: sheltered(nil), To: toDisk},
			want:    ResolutionResponse{"Y", ref("y", optional)},
			reads:   []string{"list Disk a"},
		},
		"FollowsChosen": {
			reason:  "If the reference says Always, the choice stays and the value follows.",
			objects: two,
			req: ResolutionRequest{
				CurrentValue: "old", Reference: ref("y", always), Selector: sheltered(nil),
				To: toDisk,
			},
			want:  ResolutionResponse{"Y", ref("y", always)},
			reads: []string{"list Disk a"},
		},
		"ChoosesAgain": {
			reason:  "If the selector says Always, it chooses again.",
			objects: two,
			req: ResolutionRequest{
				CurrentValue: "Y", Reference: ref("y", nil), Selector: sheltered(always),
				To: toDisk,
			},
			want:  ResolutionResponse{"X", ref("x", nil)},
			reads: []string{"list Disk a"},
		},
		"NoLongerMatches": {
			reason:  "What does not match any more gives way.",
			objects: two,
			req:     ResolutionRequest{Reference: ref("w", nil), Selector: sheltered(nil), To: toDisk},
			want:    ResolutionResponse{"X", ref("x", nil)},
			reads:   []string{"list Disk a"},
		},
		"None": {
			reason: "A selector that matches nothing waits.",
			req:    ResolutionRequest{Selector: sheltered(nil), To: toDisk},
			why:    ReasonNoMatch,
			reads:  []string{"list Disk a"},
		},
		"NoneOptional": {
			reason: "An optional one goes without, and keeps what it chose.",
			req: ResolutionRequest{
				CurrentValue: "v", Reference: ref("x", nil), Selector: sheltered(alwaysOptional),
				To: toDisk,
			},
			want:  ResolutionResponse{"", ref("x", nil)},
			reads: []string{"list Disk a"},
		},
		"NotReady": {
			reason:  "The choice does not depend on who is ready; the error goes with it.",
			objects: []client.Object{disk("a", "x", east), disk("a", "y", east, external("Y"))},
			req:     ResolutionRequest{Selector: sheltered(nil), To: toDisk},
			want:    ResolutionResponse{"", ref("x", nil)},
			why:     ReasonNoValue,
			reads:   []string{"list Disk a"},
		},
		"Deleting": {
			reason: "What is being deleted is not chosen, though it was.",
			objects: []client.Object{disk("a", "x", east, external("X"), deleting),
				disk("a", "y", east, external("Y"))},
			req:   ResolutionRequest{Reference: ref("x", nil), Selector: sheltered(nil), To: toDisk},
			want:  ResolutionResponse{"Y", ref("y", nil)},
			reads: []string{"list Disk a"},
		},
		"NotSelf": {
			reason:  "An object does not choose itself.",
			from:    disk("a", "a", east, external("A")),
			objects: append(two, disk("a", "a", east, external("A"))),
			req:     ResolutionRequest{Selector: sheltered(nil), To: toDisk},
			want:    ResolutionResponse{"X", ref("x", nil)},
			reads:   []string{"list Disk a"},
		},
		"SameController": {
			reason: "It may have to have the same controller.",
			from:   instance("a", "instance", controlledBy("cluster")),
			objects: []client.Object{disk("a", "x", external("X")),
				disk("a", "y", external("Y"), controlledBy("other")),
				disk("a", "z", external("Z"), controlledBy("cluster"))},
			req: ResolutionRequest{
				Selector: &commonv1.NamespacedSelector{MatchControllerRef: new(true)}, To: toDisk,
			},
			want:  ResolutionResponse{"Z", ref("z", nil)},
			reads: []string{"list Disk a"},
		},
		"NoController": {
			reason:  "Two objects without a controller do not share one.",
			objects: []client.Object{disk("a", "x", external("X"))},
			req: ResolutionRequest{
				Selector: &commonv1.NamespacedSelector{MatchControllerRef: new(true)}, To: toDisk,
			},
			why:   ReasonNoMatch,
			reads: []string{"list Disk a"},
		},
		"AnyController": {
			reason:  "That it must not is no restriction.",
			objects: []client.Object{disk("a", "x", external("X"))},
			req: ResolutionRequest{
				Selector: &commonv1.NamespacedSelector{MatchControllerRef: new(false)},
				To:       toDisk,
			},
			want:  ResolutionResponse{"X", ref("x", nil)},
			reads: []string{"list Disk a"},
		},
		"OtherNamespace": {
			reason: "In another namespace only what is granted is seen, and the reference names the namespace.",
			objects: []client.Object{disk("b", "x", east, external("X")),
				disk("b", "y", east, external("Y"), granted("a")), disk("a", "a", east, external("A"))},
			req: ResolutionRequest{
				Selector: &commonv1.NamespacedSelector{Namespace: "b", MatchLabels: map[string]string{"zone": "east"}},
				To:       toDisk,
			},
			want:  ResolutionResponse{"Y", refIn("b", "y", nil)},
			reads: []string{"list Disk b"},
		},
		"OtherNamespaceNotGranted": {
			reason:  "What is not granted is as good as not there.",
			objects: []client.Object{disk("b", "x", east, external("X"))},
			req:     ResolutionRequest{Selector: &commonv1.NamespacedSelector{Namespace: "b"}, To: toDisk},
			why:     ReasonNoMatch,
			reads:   []string{"list Disk b"},
		},
		"NamesakeElsewhere": {
			reason:  "A reference to a namesake in another namespace is not the choice.",
			objects: two,
			req:     ResolutionRequest{Reference: refIn("b", "y", nil), Selector: sheltered(nil), To: toDisk},
			want:    ResolutionResponse{"X", ref("x", nil)},
			reads:   []string{"list Disk a"},
		},
		"UnknownPolicy": {
			reason: "A misspelt policy of a selector is refused as well.",
			req: ResolutionRequest{
				Selector: sheltered(&commonv1.ReferencePolicy{Resolve: new(commonv1.ResolvePolicy("Often"))}),
				To:       toDisk,
			},
			why: ReasonMalformed,
		},
		"BadLabels": {
			reason: "Labels that cannot exist are a mistake.",
			req: ResolutionRequest{
				Selector: &commonv1.NamespacedSelector{
					MatchLabels: map[string]string{"zone": "not a label"}, Policy: optional,
				},
				To: toDisk,
			},
			why: ReasonMalformed,
		},
		"ClusterScoped": {
			reason:  "Cluster-scoped referents are listed without a namespace.",
			objects: []client.Object{network("h", external("net-1"))},
			req:     ResolutionRequest{Selector: &commonv1.NamespacedSelector{Namespace: "b"}, To: toNetwork},
			want:    ResolutionResponse{"net-1", ref("h", nil)},
			reads:   []string{"list Network "},
		},
		"FromCluster": {
			reason: "A cluster-scoped object must not look into all namespaces.",
			from:   network("h"),
			req:    ResolutionRequest{Selector: sheltered(nil), To: toDisk},
			why:    ReasonMalformed,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			from := tc.from
			if from == nil {
				from = instance("a", "instance")
			}
			w := newWorld(tc.objects...)

			rsp, err := NewAPIResolver(w, from).Resolve(context.Background(), tc.req)

			checkError(t, tc.reason, err, tc.why, nil)
			if diff := cmp.Diff(tc.want, rsp); diff != "" {
				t.Errorf("%s\nResolve(...): -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.reads, w.reads); diff != "" {
				t.Errorf("%s\nreads: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestResolveMultiple(t *testing.T) {
	east := labelled("zone", "east")
	refs := func(r ...*commonv1.NamespacedReference) (out []commonv1.NamespacedReference) {
		for _, one := range r {
			out = append(out, *one)
		}

		return out
	}
	selector := func(p *commonv1.ReferencePolicy) *commonv1.NamespacedSelector {
		return &commonv1.NamespacedSelector{MatchLabels: map[string]string{"zone": "east"}, Policy: p}
	}

	cases := map[string]struct {
		reason  string
		objects []client.Object
		req     MultiResolutionRequest
		want    MultiResolutionResponse
		why     Reason
		reads   []string
	}{
		"Nothing": {
			reason: "Without references and a selector there is nothing to do.",
			req:    MultiResolutionRequest{CurrentValues: []string{"v"}},
			want:   MultiResolutionResponse{ResolvedValues: []string{"v"}},
		},
		"Present": {
			reason: "Values that are there are not looked for again.",
			req:    MultiResolutionRequest{CurrentValues: []string{"v"}, References: refs(ref("x", nil)), To: toDisk},
			want:   MultiResolutionResponse{[]string{"v"}, refs(ref("x", nil))},
		},
		"UnknownPolicy": {
			reason: "Any of several policies may be misspelt.",
			req: MultiResolutionRequest{
				CurrentValues: []string{"v", "w"},
				References: refs(ref("x", nil),
					ref("y", &commonv1.ReferencePolicy{Resolve: new(commonv1.ResolvePolicy("Often"))})),
				To: toDisk,
			},
			want: MultiResolutionResponse{[]string{"v", "w"},
				refs(ref("x", nil), ref("y",
					&commonv1.ReferencePolicy{Resolve: new(commonv1.ResolvePolicy("Often"))}))},
			why: ReasonMalformed,
		},
		"InOrder": {
			reason: "Values are in the order of the references, and nothing shines through from one referent to the next.",
			objects: []client.Object{disk("a", "x", external("X")), disk("b", "y", external("Y"), granted("a")),
				disk("b", "z", external("Z"))},
			req: MultiResolutionRequest{
				References: refs(refIn("b", "y", nil), ref("x", nil), refIn("b", "z", optional)),
				To:         toDisk,
			},
			want: MultiResolutionResponse{[]string{"Y", "X"},
				refs(refIn("b", "y", nil), ref("x", nil), refIn("b", "z", optional))},
			reads: []string{"get Disk b/y", "get Disk a/x", "get Disk b/z"},
		},
		"Added": {
			reason:  "A reference more than there are values is resolved.",
			objects: []client.Object{disk("a", "x", external("X")), disk("a", "y", external("Y"))},
			req: MultiResolutionRequest{
				CurrentValues: []string{"X"}, References: refs(ref("x", nil), ref("y", nil)),
				To: toDisk,
			},
			want:  MultiResolutionResponse{[]string{"X", "Y"}, refs(ref("x", nil), ref("y", nil))},
			reads: []string{"get Disk a/x", "get Disk a/y"},
		},
		"OneIsMissing": {
			reason:  "One that is missing is waited for, and the values stay.",
			objects: []client.Object{disk("a", "x", external("X"))},
			req: MultiResolutionRequest{
				CurrentValues: []string{"v"}, References: refs(ref("x", always), ref("y", nil)),
				To: toDisk,
			},
			want:  MultiResolutionResponse{[]string{"v"}, refs(ref("x", always), ref("y", nil))},
			why:   ReasonNotFound,
			reads: []string{"get Disk a/x", "get Disk a/y"},
		},
		"Selected": {
			reason: "A selector chooses all, by name.",
			objects: []client.Object{disk("a", "y", east, external("Y")), disk("a", "x", east, external("X")),
				disk("a", "w", external("W")), disk("b", "v", east, external("V"))},
			req: MultiResolutionRequest{
				References: refs(ref("gone", nil), ref("y", optional)), Selector: selector(nil),
				To: toDisk,
			},
			want:  MultiResolutionResponse{[]string{"X", "Y"}, refs(ref("x", nil), ref("y", optional))},
			reads: []string{"list Disk a"},
		},
		"SelectedNotReady": {
			reason:  "All that were chosen have to be ready.",
			objects: []client.Object{disk("a", "y", east), disk("a", "x", east, external("X"))},
			req:     MultiResolutionRequest{Selector: selector(nil), To: toDisk},
			want:    MultiResolutionResponse{nil, refs(ref("x", nil), ref("y", nil))},
			why:     ReasonNoValue,
			reads:   []string{"list Disk a"},
		},
		"SelectedOptional": {
			reason:  "If that is optional, those that are will do.",
			objects: []client.Object{disk("a", "y", east), disk("a", "x", east, external("X"))},
			req:     MultiResolutionRequest{Selector: selector(optional), To: toDisk},
			want:    MultiResolutionResponse{[]string{"X"}, refs(ref("x", nil), ref("y", nil))},
			reads:   []string{"list Disk a"},
		},
		"SelectedNone": {
			reason: "A selector that matches nothing waits.",
			req:    MultiResolutionRequest{CurrentValues: []string{"v"}, Selector: selector(always), To: toDisk},
			want:   MultiResolutionResponse{ResolvedValues: []string{"v"}},
			why:    ReasonNoMatch,
			reads:  []string{"list Disk a"},
		},
		"SelectedNoneOptional": {
			reason: "If that is optional, there are no values.",
			req: MultiResolutionRequest{
				CurrentValues: []string{"v"}, Selector: selector(alwaysOptional), To: toDisk,
			},
			reads: []string{"list Disk a"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(tc.objects...)

			rsp, err := NewAPIResolver(w, instance("a", "instance")).ResolveMultiple(context.Background(), tc.req)

			checkError(t, tc.reason, err, tc.why, nil)
			if diff := cmp.Diff(tc.want, rsp); diff != "" {
				t.Errorf("%s\nResolveMultiple(...): -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.reads, w.reads); diff != "" {
				t.Errorf("%s\nreads: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestIncompleteRequest: a missing field is an error, and is not dereferenced.
func TestIncompleteRequest(t *testing.T) {
	r := NewAPIResolver(newWorld(), instance("a", "instance"))
	for name, req := range map[string]ResolutionRequest{
		"Managed": {Reference: ref("x", nil), To: To{List: &DiskList{}}},
		"List":    {Selector: &commonv1.NamespacedSelector{}, To: To{Managed: &Disk{}}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := r.Resolve(context.Background(), req); err == nil ||
				!strings.Contains(err.Error(), "To."+name) {
				t.Errorf("want an error about To.%s, got %v", name, err)
			}
		})
	}
}

// TestPlainReader: a reader that does not know scopes is enough: they are taken from the objects that it returns.
func TestPlainReader(t *testing.T) {
	w := newWorld(disk("a", "b", external("main")), disk("b", "b", external("other")), network("h", external("net-1")))
	r := NewAPIResolver(plainReader{w}, instance("a", "instance"))

	got, err := r.Resolve(context.Background(), ResolutionRequest{Reference: ref("b", nil), To: toDisk})
	if err != nil || got.ResolvedValue != "main" {
		t.Errorf("A referent in the own namespace: got %q, %v", got.ResolvedValue, err)
	}
	_, err = r.Resolve(context.Background(), ResolutionRequest{Reference: refIn("b", "b", nil), To: toDisk})
	checkError(t, "Another namespace has to grant it all the same.", err, ReasonNotGranted, nil)

	_, err = NewAPIResolver(plainReader{w}, network("g")).Resolve(context.Background(),
		ResolutionRequest{Selector: &commonv1.NamespacedSelector{}, To: toDisk})
	checkError(t, "A cluster-scoped object sees nothing in namespaces that it did not name.", err, ReasonNoMatch, nil)
}

// A confusedReader returns its only object from every Get.
type confusedReader struct {
	client.Reader
	answer *Disk
}

func (c confusedReader) Get(_ context.Context, _ client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	transcribe(c.answer, out)

	return nil
}

// TestWhereTheObjectSaysItIs: the namespace of the returned object counts, not that of the request.
func TestWhereTheObjectSaysItIs(t *testing.T) {
	c := confusedReader{newWorld(), disk("b", "b", external("main"))}
	_, err := NewAPIResolver(c, instance("a", "instance")).Resolve(context.Background(),
		ResolutionRequest{Reference: ref("b", nil), To: toDisk})
	checkError(t, "An object of another namespace is not granted, however it was found.", err, ReasonNotGranted, nil)
}

// TestToIsOnlyAnExample: the objects in To are not changed, and their content does not count as read.
func TestToIsOnlyAnExample(t *testing.T) {
	w := newWorld(disk("b", "b", external("main")))
	to := To{Managed: disk("", "", granted("*"), external("leftover"))}

	_, err := NewAPIResolver(w, instance("a", "instance")).Resolve(context.Background(),
		ResolutionRequest{Reference: refIn("b", "b", nil), To: to})
	checkError(t, "A grant in the example is none.", err, ReasonNotGranted, nil)
	if diff := cmp.Diff(disk("", "", granted("*"), external("leftover")), to.Managed); diff != "" {
		t.Errorf("the example was changed: -want, +got:\n%s", diff)
	}
}

func TestUnstructured(t *testing.T) {
	w := newWorld(disk("a", "b", external("main"), labelled("zone", "east")))
	u, l := &unstructured.Unstructured{}, &unstructured.UnstructuredList{}
	u.SetGroupVersionKind(diskGVK)
	l.SetGroupVersionKind(group.WithKind("DiskList"))
	r := NewAPIResolver(w, instance("a", "instance"))

	for name, req := range map[string]ResolutionRequest{
		"Reference": {Reference: ref("b", nil)},
		"Selector":  {Selector: &commonv1.NamespacedSelector{MatchLabels: map[string]string{"zone": "east"}}},
	} {
		t.Run(name, func(t *testing.T) {
			req.To, req.Extract = To{Managed: u,
				List: l}, Field("metadata.annotations["+meta.AnnotationKeyExternalName+"]")
			got, err := r.Resolve(context.Background(), req)
			if diff := cmp.Diff(ResolutionResponse{"main", ref("b", nil)}, got); diff != "" || err != nil {
				t.Errorf("Resolve(...): error %v, -want, +got:\n%s", err, diff)
			}
		})
	}
}

// TestReferent: an error has its referent.
func TestReferent(t *testing.T) {
	r := NewAPIResolver(newWorld(), instance("a", "instance"))

	_, err := r.Resolve(context.Background(), ResolutionRequest{Reference: ref("b", nil), To: toDisk})
	got, ok := AsWaiting(errors.Wrap(err, "cannot resolve spec.disk"))
	if diff := cmp.Diff(Referent{diskGK, "a", "b"}, got); diff != "" || !ok {
		t.Errorf("AsWaiting(...): %t, -want, +got:\n%s", ok, diff)
	}

	_, err = r.Resolve(context.Background(), ResolutionRequest{Reference: refIn("b", "b", nil), To: toDisk})
	got, ok = AsRefused(errors.Wrap(err, "cannot resolve spec.disk"))
	if diff := cmp.Diff(Referent{diskGK, "b", "b"}, got); diff != "" || !ok {
		t.Errorf("AsRefused(...): %t, -want, +got:\n%s", ok, diff)
	}

	if _, ok := AsWaiting(errors.New("boom")); ok {
		t.Error("AsWaiting(boom): want false")
	}
	if _, ok := AsRefused(nil); ok {
		t.Error("AsRefused(nil): want false")
	}
}

// TestSecretsAreNotRead: kinds that must not be watched are rejected before they are read.
func TestSecretsAreNotRead(t *testing.T) {
	w := newWorld()
	s := testScheme()
	if err := corev1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	secret, configMaps := &unstructured.Unstructured{}, &unstructured.UnstructuredList{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	configMaps.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	rec := NewTracker(s).Reader(types.NamespacedName{Namespace: "a", Name: "instance"}, w)
	key := types.NamespacedName{Namespace: "a", Name: "s"}

	for name, err := range map[string]error{
		"Secret":       rec.Get(context.Background(), key, &corev1.Secret{}),
		"Secrets":      rec.List(context.Background(), &corev1.SecretList{}),
		"ConfigMap":    rec.Get(context.Background(), key, &corev1.ConfigMap{}),
		"ConfigMaps":   rec.List(context.Background(), configMaps),
		"Unstructured": rec.Get(context.Background(), key, secret),
	} {
		if err == nil || !strings.Contains(err.Error(), "watched") {
			t.Errorf("%s: want an error about watching, got %v", name, err)
		}
	}
	if len(w.reads) > 0 {
		t.Errorf("want no read, got %v", w.reads)
	}
}
