package managed

import (
	"testing"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// An unpublishable object is of a kind whose objects name no Secret.
type unpublishable struct{ resource.Managed }

// A publishable object names a Secret, and has a hash of its published details.
type publishable struct {
	*fake.Managed

	secret, hash string
}

func (p *publishable) GetWriteConnectionSecretToReference() *commonv1.LocalSecretReference {
	return &commonv1.LocalSecretReference{Name: p.secret}
}

func (p *publishable) GetConnectionDetailsHash() string { return p.hash }

func (p *publishable) SetConnectionDetailsHash(hash string) { p.hash = hash }

// observedWith returns a pass that has observed details of an object.
func observedWith(mg resource.Managed, details ConnectionDetails) *pass {
	p := passOf(mg, &objectState{})
	p.observation = ExternalObservation{ResourceExists: true, ConnectionDetails: details}

	return p
}

// TestAKindWithoutASecretPublishesNothing verifies that details of a kind without a field for the Secret are not
// published.
func TestAKindWithoutASecretPublishesNothing(t *testing.T) {
	details := ConnectionDetails{"token": []byte("of a kind without a Secret")}
	if observedWith(unpublishable{bearing(nil)}, details).unpublished() {
		t.Error("they are to be published")
	}
	if !observedWith(&publishable{Managed: bearing(nil), secret: "login"}, details).unpublished() {
		t.Error("those of a kind that has one are not")
	}
}

// TestNothingIsDerivedOfWhatWasNeverPublished verifies that the slow hash is not derived for an object without
// published details.
func TestNothingIsDerivedOfWhatWasNeverPublished(t *testing.T) {
	details := ConnectionDetails{"token": []byte("of an object that tells of none")}
	for hash, want := range map[string]bool{"": false, "login/of others": true} {
		p := observedWith(&publishable{Managed: bearing(nil), secret: "login", hash: hash}, details)
		if !p.unpublished() {
			t.Errorf("with %q: nothing is published", hash)
		}
		_, derived := p.r.objects.derived.keys[hashInput{p.details, ownerUID}]
		if derived != want {
			t.Errorf("with %q: derived %t", hash, derived)
		}
	}
}
