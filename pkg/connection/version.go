package connection

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Version returns a version of settings, such as the spec of a ProviderConfig: that of two
// is the same if their JSON is. The generation of an object is no good version where
// Missing is used, because its deletion raises it, too, and an object that is being deleted
// would lose its connection to a change that is none. It holds nothing of the settings.
func Version(settings any) (string, error) {
	image, err := json.Marshal(settings)
	if err != nil {
		return "", errors.Wrap(err, "cannot tell the version of the settings")
	}
	sum := sha256.Sum256(image)

	return hex.EncodeToString(sum[:8]), nil
}
