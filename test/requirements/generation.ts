/** Images and videos that agents make (contract-surfaces, section 10). */
export const generation = {
  "GEN-1":
    "`generate_image` posts to `<baseUrl>/images/generations`; what comes back is attached to the reply",
  "GEN-2": "parameters of the message stand over what the agent says, for that message alone",
  "GEN-3": "`image_ref` goes to the service as a share link, and only for files that the agent may share",
  "GEN-4": "`generate_video` posts, polls, and stores the content; a failed video is told",
  "GEN-5": "without `gateway.images` and `gateway.videos` there are no such tools",
  "GEN-6":
    "errors of the service are one sentence for the agent, without the key, and nothing hangs or grows for them",
};
