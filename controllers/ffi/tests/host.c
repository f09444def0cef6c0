#include "admission.h"

int main(void) {
    char error[200];
    AdmissionSeat *seat = admission_new("{\"policy\": \"concurrency\", \"settings\": {\"max\": 1}}", error, sizeof error);
    if (!seat) return 1;
    AdmissionJob first = {.id = 1}, second = {.id = 2};
    if (admission_offer(seat, 0, &first).kind != ADMISSION_KIND_ADMIT) return 2;
    if (admission_offer(seat, 0, &second).kind != ADMISSION_KIND_REFUSE) return 3;
    if (!admission_ended(seat, 1000, 1, ADMISSION_OUTCOME_SERVED)) return 4;
    if (admission_poll(seat, 1000).kind != ADMISSION_KIND_IDLE) return 5;
    admission_free(seat);
    return 0;
}
